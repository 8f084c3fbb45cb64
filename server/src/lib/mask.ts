/** Shown in the place of a value that its reader may not see. */
export const MASK = '•••'
