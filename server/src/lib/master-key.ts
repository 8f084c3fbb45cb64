import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from './config.ts'
import { makeFolder } from './make-folder.ts'

/** The master key: configured, or created once and stored beside the embedded database. */
export function readMasterKey({ secretKey, dataDir }: { secretKey: string | undefined; dataDir: string }) {
  if (secretKey) return secretKey
  const path = join(dataDir, 'secret.key')
  try {
    // Others may enter the folder: started as root, PostgreSQL runs as another user and has its files in it. Each file has its own mode.
    makeFolder(dataDir, 0o755)
    // 'wx': of two concurrent first starts one writes the key, and the other reads it.
    writeFileSync(path, `${randomBytes(32).toString('hex')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new ConfigError(`Cannot store a secret key in ${path}: ${(err as Error).message}`)
  }
  const key = readFileSync(path, 'utf8').trim()
  if (key.length < 32) throw new ConfigError(`${path} is damaged. Restore it from a backup; without it stored API keys cannot be read.`)
  return key
}
