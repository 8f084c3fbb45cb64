import { Tern } from './logo.tsx'

/** Shown while the layout of the page is not known yet. */
export function Splash() {
  return (
    <div role="status" className="grid min-h-dvh place-items-center">
      <Tern className="size-12 text-accent motion-safe:animate-pulse" />
      <span className="sr-only">Loading…</span>
    </div>
  )
}
