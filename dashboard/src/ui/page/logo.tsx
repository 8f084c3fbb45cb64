/** An arctic tern in the current text colour. */
export function Tern({ className }: { className: string }) {
  return (
    <svg viewBox="0 0 48 48" aria-hidden="true" className={className}>
      <TernShape />
    </svg>
  )
}

/** The path alone, 48 by 48, for use inside another SVG. */
export function TernShape() {
  return (
    <path
      fill="currentColor"
      transform="rotate(38 24 24)"
      d="M24 3.5c1 3.6 2.1 6.6 4 8.7 8.6-1.5 15.5 2.3 20 11.3-6.5-4.7-13-6-19.3-3.3-.8 6.6.7 14.5 4.8 24.3-4.1-4.6-7.3-9-9.5-13.6-2.2 4.6-5.4 9-9.5 13.6 4.1-9.8 5.6-17.7 4.8-24.3C13 17.5 6.5 18.8 0 23.5c4.5-9 11.4-12.8 20-11.3 1.9-2.1 3-5.1 4-8.7Z"
    />
  )
}

export function Logo() {
  return (
    <span className="inline-flex items-center gap-2 font-semibold text-ink text-lg tracking-tight">
      <Tern className="size-7 text-accent" />
      Sterna
    </span>
  )
}
