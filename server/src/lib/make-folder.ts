import { existsSync, mkdirSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Not Node's `recursive`: it loops forever where mkdir fails with ENOENT below an existing folder, as in /proc. */
export function makeFolder(path: string, mode?: number) {
  if (isFolder(path)) return
  makeFolder(dirname(path), mode)
  try {
    mkdirSync(path, { mode })
  } catch (err) {
    if (!isFolder(path)) throw err // otherwise a concurrent start created it
  }
}

const isFolder = (path: string) => existsSync(path) && statSync(path).isDirectory()

/** A rename is durable once its folder is synced. */
export async function syncFolder(path: string) {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

/** The nearest existing ancestor of a path, or the path itself. */
export const nearestFolder = (path: string): string => (existsSync(path) ? path : nearestFolder(dirname(path)))
