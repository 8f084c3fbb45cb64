/** Placeholder of the size of the content to come, so that the layout does not shift. */
export function Skeleton({ className = 'h-4 w-full' }: { className?: string }) {
  return <div aria-hidden="true" className={`rounded-md bg-line/70 motion-safe:animate-pulse ${className}`} />
}
