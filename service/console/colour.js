// Colours that people with any colour vision can tell apart: cividis for amounts, Okabe-Ito for names.

const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"]
  .map((hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16)));

export const NAMES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];

const darkScheme = matchMedia("(prefers-color-scheme: dark)");

/** Call `redraw` when the reader's colour scheme changes. */
export const onScheme = (redraw) => darkScheme.addEventListener("change", redraw);

/** Colour of a share 0…1: deep blue is idle, yellow is full, in the dark and in the light alike. */
export function amount(share) {
  const place = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(place));
  const mixed = CIVIDIS[low].map((value, i) => Math.round(value + (CIVIDIS[low + 1][i] - value) * (place - low)));
  return `rgb(${mixed.join(" ")})`;
}

/** Load that is drawn at the hot end of the scale. */
export const FULL_LOAD = 2;

export const loadColour = (u) => amount(u / FULL_LOAD);

/** Ink that can be read on one of the colours by name. */
export function inkOn(hex) {
  const [red, green, blue] = [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10161f" : "#ffffff";
}

/** Ink that can be read on `amount(share)`. */
export const inkOver = (share) => (share > 0.52 ? "#10161f" : "#ffffff");

/** A CSS gradient of the load scale. */
export function ramp() {
  const stops = Array.from({ length: 11 }, (_, i) => amount(i / 10));
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

/** Value of a colour role of the style sheet. */
export const role = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
