import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// To be imported before any other module: Node can load TypeScript then, without the loader of the test runner, which takes much more CPU.
if (isMainThread) register('./native-sources-hooks.mjs', import.meta.url)
