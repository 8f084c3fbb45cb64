import { writeFileSync } from 'node:fs'
import { buildApp } from '../src/app.ts'
import { connect } from '../src/db/index.ts'
import { loadConfig } from '../src/lib/config.ts'
import { createLog } from '../src/lib/process/log.ts'
import { deriveSecrets } from '../src/lib/secrets.ts'

// The document needs the routes but no database: nothing here connects.
const log = createLog('silent')
const db = connect({ url: 'postgres://nobody@127.0.0.1:1/none', max: 1, log })
const app = await buildApp({ config: loadConfig({}), db, secrets: deriveSecrets('only routes are read here, nothing is sealed'), log })
await app.ready()
writeFileSync(new URL('../../docs/openapi.json', import.meta.url), `${JSON.stringify(app.swagger(), null, 2)}\n`)
await app.close()
await db.destroy()
