/** A bar for work in progress, 0 to 100. Rates are numbers, never bars. */
export function Progress({ value, label }: { value: number; label: string }) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={Math.round(value)}
      aria-valuemin={0}
      aria-valuemax={100}
      className="h-1 overflow-hidden rounded-full bg-line"
    >
      <div className="h-full origin-left bg-accent transition-transform duration-500" style={{ transform: `scaleX(${value / 100})` }} />
    </div>
  )
}
