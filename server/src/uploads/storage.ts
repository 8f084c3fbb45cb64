import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Config } from '../lib/config.ts'
import { diskStorage } from './disk.ts'
import { s3Storage } from './s3.ts'

export type Storage = {
  /** Atomic: the file is durable when the promise resolves, and not visible before. */
  put(key: string, content: Buffer, contentType: string): Promise<void>
  /** Undefined if the file does not exist. The size is undefined if the storage does not report it. */
  open(key: string): Promise<{ size: number | undefined; content: Readable } | undefined>
  /** Ignores missing files. */
  remove(keys: string[]): Promise<void>
  /** Rejects with the reason when the storage is not writable. */
  check(): Promise<void>
}

export const uploadFolderOf = ({ dataDir }: Config) => join(dataDir, 'uploads')

export const openStorage = (config: Config): Storage => (config.s3 ? s3Storage(config.s3) : diskStorage(uploadFolderOf(config)))

/** Public URL of an image: at the bucket if it has a public URL, else served by this installation. */
export const imageUrl = ({ s3, publicUrl }: Config, key: string) => `${s3?.publicUrl ?? `${publicUrl}/uploads`}/${key}`
