/** `640 B`, `3.2 KB`, `1.4 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`
  const [amount, unit] = bytes < 1_024 * 1_024 ? [bytes / 1_024, 'KB'] : [bytes / (1_024 * 1_024), 'MB']
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${unit}`
}
