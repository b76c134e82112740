// What is said where nothing is stored: who sees some tenants hears of their flows, and not of the store.

import { empty } from "./dom.js";
import { seesAll } from "./login.js";

/** Nothing is stored, or no flow of the tenants that whoever asks sees; `then` says how the page goes on. */
export async function nothingStored(then, commands) {
  return (await seesAll())
    ? empty("The store is empty", `No capture was analysed into this store yet, and of live frames none was judged. ${then}`, commands)
    : empty("No flow of yours is stored", `No flow of the tenants that you see was judged yet. ${then}`, null);
}
