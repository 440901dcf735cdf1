// Seeds that once found a fault, with what they showed. They run on every change from then on.

export const PINNED_SEEDS: readonly (readonly [seed: number, showed: string])[] = [];
