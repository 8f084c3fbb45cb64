/** What a scanner has looked at, in characters or lines. Tests hold that it grows no faster than the input. */
export type Steps = { count: number }
