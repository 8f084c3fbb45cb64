/** Stands where content will be, in its size, so that nothing jumps when it arrives. */
export function Skeleton({ className = 'h-4 w-full' }: { className?: string }) {
  return <div aria-hidden="true" className={`rounded-lg bg-line/70 motion-safe:animate-pulse ${className}`} />
}
