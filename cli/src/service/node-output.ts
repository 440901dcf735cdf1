// What Node.js and the threads of the service would print as text, in the log of `serve` instead. This file imports
// nothing: it must be loaded before the modules that Node.js warns of.

type Print = (fields: Readonly<Record<string, unknown>>) => void;

let held: Error[] | null = [];
let print: Print = () => {};

/** From now on, Node.js does not print its warnings. They are held until `printWarnings` is called. */
export function holdWarnings(): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (held) held.push(warning);
    else printWarning(warning);
  });
}

export function printWarnings(to: Print): void {
  print = to;
  const before = held ?? [];
  held = null;
  for (const warning of before) printWarning(warning);
}

function printWarning({ name, message, code }: Error & { readonly code?: string }): void {
  print({ warning: name, code, why: message });
}
