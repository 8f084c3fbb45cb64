import { register } from 'tsx/esm/api'

// Threads do not inherit the TypeScript loader of the main thread. Only for tests and `npm run dev`; the bundle does not need it.
register()
export const { inspect, render, toText } = await import('./render-thread.ts')
