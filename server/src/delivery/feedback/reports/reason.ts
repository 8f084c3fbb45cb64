const MAX_REASON = 500

/** Text from receivers and providers, made safe for a database column and a terminal: one line, short, no control characters. */
export const cleanReason = (parts: (string | undefined)[]) =>
  parts
    .filter(Boolean)
    .join(': ')
    .replace(/[\p{Cc}\p{Surrogate}]+/gu, ' ')
    .trim()
    .slice(0, MAX_REASON)
    // The slice may have split a surrogate pair.
    .replace(/\p{Surrogate}/gu, '')
