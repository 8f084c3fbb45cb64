/** The word before a line of a group. */
export function Joint({ text }: { text: string }) {
  return <span className="w-7 shrink-0 pt-2 text-right text-muted text-xs max-sm:hidden">{text}</span>
}
