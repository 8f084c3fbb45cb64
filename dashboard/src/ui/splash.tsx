import { Tern } from './logo.tsx'

/** While even the frame of the page is unknown. */
export function Splash() {
  return (
    <div role="status" className="grid min-h-dvh place-items-center">
      <Tern className="size-12 text-accent motion-safe:animate-pulse" />
      <span className="sr-only">Loading…</span>
    </div>
  )
}
