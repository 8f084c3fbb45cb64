const LARGE = 100_000
/** The server counts the rows of a list up to here; this number as an estimate means that no better one is known. */
const COUNTED_UP_TO = 10_000

/** An exact number with separators; an estimate is rounded: `about 1.2 M`. */
export function formatCount(value: number, { about = false, locale }: { about?: boolean; locale?: string } = {}): string {
  if (!about) return new Intl.NumberFormat(locale).format(value)
  if (value === COUNTED_UP_TO) return `over ${new Intl.NumberFormat(locale).format(value)}`
  if (value < LARGE) return `about ${new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 }).format(value)}`
  const [divisor, unit] = value < 1_000_000 ? [1_000, 'k'] : value < 1_000_000_000 ? [1_000_000, 'M'] : [1_000_000_000, 'G']
  return `about ${new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 }).format(value / divisor)} ${unit}`
}

/** `1 contact`, `1,204 contacts`, `about 1.2 M contacts`. */
export function countOf(value: number, noun: Noun, about = false): string {
  return `${formatCount(value, { about })} ${value === 1 ? noun.one : noun.many}`
}

export type Noun = { one: string; many: string }

/** A number of things. `about` marks an estimate, and `asOf` its age. */
export function Count({
  value,
  about = false,
  asOf,
  className = '',
}: {
  value: number
  about?: boolean
  asOf?: string
  className?: string
}) {
  const exact = new Intl.NumberFormat().format(value)
  const title = [about && value !== COUNTED_UP_TO ? `Estimated: ${exact}` : exact, asOf && `counted ${new Date(asOf).toLocaleString()}`]
    .filter(Boolean)
    .join(', ')
  return (
    <span className={`tabular-nums ${className}`} title={title}>
      {formatCount(value, { about })}
    </span>
  )
}

/** A share of a whole, 0 to 1, with more digits for small ones: 50%, 3.4%, 0.15%, 0.075%. The one form of percent on every page. */
export function formatPercent(share: number, locale?: string): string {
  const digits = share < 0.001 ? 3 : share < 0.01 ? 2 : share < 0.1 ? 1 : 0
  return new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: digits }).format(share)
}

/** `+12%`, `−3%` */
export const formatChange = (share: number): string =>
  new Intl.NumberFormat(undefined, { style: 'percent', signDisplay: 'exceptZero', maximumFractionDigits: 0 }).format(share)

export function Percent({ value, className = '' }: { value: number; className?: string }) {
  return <span className={`tabular-nums ${className}`}>{formatPercent(value)}</span>
}
