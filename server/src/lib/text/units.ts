/** Bytes. */
export const KB = 1024
export const MB = 1024 * KB

/** Milliseconds. */
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
