import { start } from '../src/main.ts'

await start(process.env)
