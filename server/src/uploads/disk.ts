import { constants } from 'node:fs'
import { access, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder, nearestFolder, syncFolder } from '../lib/make-folder.ts'
import type { Storage } from './storage.ts'

/** Stores files in one folder. Keys come from key.ts, so they are file names, never paths. */
export function diskStorage(folder: string): Storage {
  const pathOf = (key: string) => join(folder, key)

  /** Written under a temporary name and renamed after the sync, so that a full disk or a kill never leaves a partial image. */
  async function put(key: string, content: Buffer) {
    makeFolder(dirname(folder), 0o755) // other users may traverse the data folder; see `readKeyFile`
    makeFolder(folder, 0o700)
    const draft = pathOf(`.${key}`)
    try {
      await writeFile(draft, content, { flag: 'wx', mode: 0o600, flush: true })
      await rename(draft, pathOf(key))
      await syncFolder(folder)
    } catch (err) {
      await rm(draft, { force: true }).catch(() => {}) // the first error is more useful
      throw err
    }
  }

  async function openFile(key: string) {
    const file = await open(pathOf(key)).catch(unlessMissing)
    return file && { size: (await file.stat()).size, content: file.createReadStream() }
  }

  async function remove(keys: string[]) {
    for (const key of keys) await rm(pathOf(key), { force: true })
  }

  const check = () => access(`${nearestFolder(folder)}/.`, constants.W_OK) // fails if the path is a file, which has no `.`

  return { put, open: openFile, remove, check }
}

const unlessMissing = (err: NodeJS.ErrnoException): undefined => {
  if (err.code !== 'ENOENT') throw err
}
