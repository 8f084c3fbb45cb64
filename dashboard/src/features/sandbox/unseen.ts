/** The badge: how many of the newest messages came since then. Undefined for none. */
export function countUnseen(messages: { createdAt: string }[], seenUntil: string): string | undefined {
  const unseen = messages.filter(({ createdAt }) => createdAt > seenUntil).length
  if (unseen === 0) return undefined
  return unseen === messages.length && unseen >= 20 ? `${unseen}+` : String(unseen)
}
