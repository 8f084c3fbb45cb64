import { register } from 'tsx/esm/api'

// Threads do not inherit what lets the main thread read TypeScript. Only for tests and `npm run dev`; the bundle has no use for it.
register()
export const { inspect, render, toText } = await import('./render-thread.ts')
