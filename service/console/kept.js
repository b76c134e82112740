// What somebody has typed in a view, and where they are in it, outlasts that it is drawn anew.

/** Fields that somebody has typed in or chosen from since the view was asked for. */
const typed = new WeakSet();
const SLIDES = "range";
const TOLD_BY = ["aria-label", "role", "name", "id", "href", "data-key"];

/** Take note of what is typed in a view, until its form is reset. */
export function listening(view) {
  view.addEventListener("input", ({ target }) => { if (target.form && target.type !== SLIDES) typed.add(target); });
  view.addEventListener("reset", ({ target }) => { for (const field of target.elements) typed.delete(field); });
}

const within = (element) => element.closest("form, section")?.getAttribute("aria-label");

/** Whether two elements are the same one, drawn twice. */
const same = (one, other) => TOLD_BY.every((name) => one.getAttribute(name) === other.getAttribute(name)) && (one.tagName !== "BUTTON" || one.textContent === other.textContent) && within(one) === within(other);

const again = (place, element) => [...place.querySelectorAll(element.tagName)].find((each) => same(each, element));

/** Whether a field can have a value: a choice may be gone. */
const takes = (field, value) => field.tagName !== "SELECT" || [...field.options].some((each) => each.value === value);

/** Where in its text somebody is; only fields of text tell. */
const caret = (field) => (typeof field?.selectionStart === "number" ? [field.selectionStart, field.selectionEnd] : null);

/** Draws a place anew, and puts back what was typed and said in it, and the focus that was in it. */
export function keeping(place, draw) {
  const at = place.contains(document.activeElement) && place !== document.activeElement ? document.activeElement : null;
  const fields = [...place.querySelectorAll("input, select, textarea")].filter((field) => typed.has(field));
  const said = [...place.querySelectorAll("[role=status]")].filter((each) => each.textContent);
  const [home, inside] = [at && within(at), caret(at)];
  draw();
  for (const told of said) {
    const now = again(place, told);
    if (now && !now.textContent) now.textContent = told.textContent;
  }
  for (const field of fields) {
    const now = again(place, field);
    if (!now || !takes(now, field.value)) continue;
    if (field.type === "file") now.files = field.files;
    else if (field.type === "checkbox") now.checked = field.checked;
    else now.value = field.value;
    typed.add(now);
  }
  if (!at || at.isConnected) return;
  const found = again(place, at) || [...place.querySelectorAll("form, section")].find((each) => each.getAttribute("aria-label") === home);
  if (found && found.tabIndex < 0) found.tabIndex = -1;
  found?.focus({ preventScroll: true });
  if (inside && caret(found)) found.setSelectionRange(...inside);
}
