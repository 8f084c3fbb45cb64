import type { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import type { S3Config } from '../lib/config.ts'
import type { Storage } from './storage.ts'

const CONCURRENCY = 20

/** A bucket of Amazon S3 or of a compatible server. */
export function s3Storage({ bucket, region, endpoint, accessKeyId, secretAccessKey }: S3Config): Storage {
  let client: Promise<{ sdk: typeof import('@aws-sdk/client-s3'); s3: S3Client }> | undefined

  /** Loaded at the first use: most installations store images on disk. */
  async function connect() {
    const sdk = await import('@aws-sdk/client-s3')
    const s3 = new sdk.S3Client({
      region,
      credentials: { accessKeyId, secretAccessKey },
      // Other servers rarely support bucket.host, and many do not support the newest checksums.
      ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      maxAttempts: 2,
      requestHandler: { connectionTimeout: 3_000, requestTimeout: 15_000 },
    })
    return { sdk, s3 }
  }
  const connected = () => (client ??= connect())

  async function put(key: string, content: Buffer, contentType: string) {
    const { sdk, s3 } = await connected()
    await s3.send(
      new sdk.PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: content,
        ContentType: contentType,
        ContentDisposition: `inline; filename="${key}"`,
        CacheControl: 'public, max-age=31536000, immutable',
      }),
    )
  }

  async function open(key: string) {
    const { sdk, s3 } = await connected()
    // 403: reply of Amazon S3 for a missing object if the credentials may not list the bucket.
    const object = await s3.send(new sdk.GetObjectCommand({ Bucket: bucket, Key: key })).catch(unless(403, 404))
    return object && { size: object.ContentLength, content: object.Body as Readable } // always a Readable in Node
  }

  async function remove(keys: string[]) {
    const { sdk, s3 } = await connected()
    // One request per object: deleting many in one request needs a checksum that not every server supports.
    for (let from = 0; from < keys.length; from += CONCURRENCY)
      await Promise.all(
        keys
          .slice(from, from + CONCURRENCY)
          .map((key) => s3.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: key })).catch(unless(404))),
      )
  }

  async function check() {
    await put('sterna-doctor', Buffer.from('May be deleted.'), 'text/plain')
    await remove(['sterna-doctor'])
  }

  return { put, open, remove, check }
}

const unless =
  (...statuses: number[]) =>
  (err: { $metadata?: { httpStatusCode?: number } }): undefined => {
    if (!statuses.includes(err.$metadata?.httpStatusCode ?? 0)) throw err
  }
