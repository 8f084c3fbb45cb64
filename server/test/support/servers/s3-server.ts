import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Stored = { content: Buffer; headers: Record<string, string | undefined> }
type Options = { bucket: string; accessKeyId: string; secretAccessKey: string; region: string }

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** A bucket with the part of the S3 API that we use. It checks the signature of every request. */
export async function startS3Server(options: Options) {
  const objects = new Map<string, Stored>()
  /** Status of every response while it is set. */
  const outage: { status?: number | undefined } = {}

  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    if (outage.status) return refuse(res, outage.status, 'SlowDown')
    if (!isSigned(req, body, options)) return refuse(res, 403, 'SignatureDoesNotMatch')
    const path = new URL(req.url!, 'http://s3').pathname
    if (!path.startsWith(`/${options.bucket}/`)) return refuse(res, 404, 'NoSuchBucket')
    answer(objects, req, res, { key: path.slice(options.bucket.length + 2), body })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    outage,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

function answer(
  objects: Map<string, Stored>,
  req: IncomingMessage,
  res: ServerResponse,
  { key, body }: { key: string; body: Buffer },
): unknown {
  if (req.method === 'PUT') {
    const { 'content-type': type, 'cache-control': cache, 'content-disposition': disposition } = req.headers
    objects.set(key, { content: body, headers: { type, cache, disposition } })
    return res.writeHead(200, { etag: `"${sha256(body)}"` }).end()
  }
  if (req.method === 'DELETE') {
    objects.delete(key)
    return res.writeHead(204).end()
  }
  const found = objects.get(key)
  // Misleading headers on purpose: the server must derive the content type from the key.
  const headers = { 'content-type': 'text/html', 'x-evil': '1', 'content-length': found?.content.length }
  return found ? res.writeHead(200, headers).end(found.content) : refuse(res, 404, 'NoSuchKey')
}

const refuse = (res: ServerResponse, status: number, code: string) =>
  res.writeHead(status, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`)

/** Checks AWS Signature Version 4 by its published description, not with the client's own code. */
function isSigned(req: IncomingMessage, body: Buffer, { accessKeyId, secretAccessKey, region }: Options) {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/
  const [, id, day, where, names = '', signature = ''] = given.exec(req.headers.authorization ?? '') ?? []
  const time = String(req.headers['x-amz-date'])
  const hash = String(req.headers['x-amz-content-sha256'])
  if (id !== accessKeyId || where !== region || !time.startsWith(day!) || hash !== sha256(body)) return false
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.split(';').includes(name))) return false
  const { pathname, searchParams } = new URL(req.url!, 'http://s3')
  const query = [...searchParams].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).sort()
  const headers = names.split(';').map((name) => `${name}:${String(req.headers[name]).trim().replace(/ +/g, ' ')}\n`)
  const canonical = [req.method, pathname, query.join('&'), headers.join(''), names, hash].join('\n')
  const text = ['AWS4-HMAC-SHA256', time, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n')
  const key = [day!, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`)
  return timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex'))
}
