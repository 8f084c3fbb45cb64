/** An amount in the smallest unit of its currency: 1999 usd is $19.99, 1999 jpy is ¥1,999. */
export function formatMoney(amount: number, currency: string, locale?: string): string {
  try {
    const format = new Intl.NumberFormat(locale, { style: 'currency', currency })
    return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
  } catch {
    return `${amount} ${currency}` // no currency that this browser knows
  }
}
