import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from './errors/config-error.ts'
import { makeFolder } from './make-folder.ts'
import { keyNumberOf } from './secrets.ts'

type MasterKeys = [current: string, ...previous: string[]]

/** The master keys: configured, or from a file beside the embedded database, which is created with the first one. */
export function readMasterKeys(config: { secretKey: string | undefined; previousSecretKeys: string[]; dataDir: string }): MasterKeys {
  const [current, ...previous] = config.secretKey ? [config.secretKey] : readKeyFile(config.dataDir)
  const others = new Set([...previous, ...config.previousSecretKeys])
  others.delete(current!)
  const keys: MasterKeys = [current!, ...others]
  if (new Set(keys.map(keyNumberOf)).size < keys.length)
    throw new ConfigError(
      'Two of SECRET_KEY and SECRET_KEY_PREVIOUS have the same key number, which happens by chance (1 in 32). ' +
        'Create another SECRET_KEY with: openssl rand -hex 32',
    )
  return keys
}

/** One key per line, the current one first. */
function readKeyFile(dataDir: string) {
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
  const keys = readFileSync(path, 'utf8')
    .trim()
    .split(/\s*\n\s*/)
  if (keys.some((key) => key.length < 32))
    throw new ConfigError(`${path} is damaged. Restore it from a backup; without it stored API keys cannot be read.`)
  return keys
}
