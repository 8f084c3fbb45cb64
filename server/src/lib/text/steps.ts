/** Work of a scanner, in characters or lines. Tests hold that it grows in proportion to the input. */
export type Steps = { count: number }
