import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('./data', import.meta.url))
const MIGRATIONS = fileURLToPath(new URL('../server/src/db/migrations', import.meta.url))
const NOTE = join(FOLDER, 'migrations.sha256')

/**
 * The data folder of the benchmark. Seeding takes minutes, so it is kept for the next run; it is deleted when the migrations have changed, so
 * that every run measures the schema of today.
 */
export function keptDataFolder() {
  const current = hashOfMigrations()
  if (readNote() !== current) {
    rmSync(FOLDER, { recursive: true, force: true })
    mkdirSync(FOLDER)
    writeFileSync(NOTE, current)
  }
  return FOLDER
}

function hashOfMigrations() {
  const hash = createHash('sha256')
  for (const name of readdirSync(MIGRATIONS).sort()) hash.update(`${name}\0`).update(readFileSync(join(MIGRATIONS, name)))
  return hash.digest('hex')
}

function readNote() {
  try {
    return readFileSync(NOTE, 'utf8')
  } catch {
    return undefined
  }
}
