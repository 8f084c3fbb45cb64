import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** A file of a backup. Size and checksum show whether a copy is complete. */
export type CopiedFile = { path: string; bytes: number; sha256: string }

/** Copies a file and returns what was copied; undefined if it does not exist any more. It may change meanwhile. */
export async function copyFile(from: string, to: string): Promise<Omit<CopiedFile, 'path'> | undefined> {
  const hash = createHash('sha256')
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  try {
    await pipeline(createReadStream(from), count, createWriteStream(to, { mode: 0o600, flush: true }))
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT' && (err as NodeJS.ErrnoException).path === from) return undefined
    throw err
  }
  await chmod(to, 0o600)
  return { bytes, sha256: hash.digest('hex') }
}

/** Files and folders below a folder, by their paths from there. Folders end with a slash. */
export async function listTree(folder: string, isLeftOut: (path: string) => boolean = () => false, below = ''): Promise<string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true })
  const paths = await Promise.all(
    entries.map(async (entry) => {
      const path = join(below, entry.name)
      if (isLeftOut(path)) return []
      return entry.isDirectory() ? [`${path}/`, ...(await listTree(folder, isLeftOut, path))] : entry.isFile() ? [path] : []
    }),
  )
  return paths.flat()
}
