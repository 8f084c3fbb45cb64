/** One decimal. Feedback may arrive before the outcome of sending is counted, so it is bounded. */
export const percent = (part: number, whole: number) => (whole > 0 ? Math.min(100, Math.round((part / whole) * 1_000) / 10) : 0)
