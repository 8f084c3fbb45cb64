import { register } from 'tsx/esm/api'

// Threads do not inherit the TypeScript loader of the main thread. Only for tests and `npm run dev`; not part of the bundle.
register()
export const { show } = await import('./preview-thread.ts')
