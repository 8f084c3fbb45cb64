import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Config } from '../lib/config.ts'
import { diskStorage } from './disk.ts'
import { s3Storage } from './s3.ts'

export type Storage = {
  /** Complete and safe when it returns; before that nobody can see any of it. */
  put(key: string, content: Buffer, contentType: string): Promise<void>
  /** The size where it is known beforehand. */
  open(key: string): Promise<{ size: number | undefined; content: Readable } | undefined>
  /** What is not there is removed already. */
  remove(keys: string[]): Promise<void>
  /** Rejects with the reason when nothing could be put. */
  check(): Promise<void>
}

export const folderOf = ({ dataDir }: Config) => join(dataDir, 'uploads')

export const openStorage = (config: Config): Storage => (config.s3 ? s3Storage(config.s3) : diskStorage(folderOf(config)))

/** Where anyone finds an image: at the bucket's own address if it has one, else with us. */
export const addressOf = ({ s3, publicUrl }: Config, key: string) => `${s3?.publicUrl ?? `${publicUrl}/uploads`}/${key}`
