import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import helmet from 'helmet'
import type { Config } from '../../lib/config.ts'

type Headers = Record<string, string>

/**
 * Helmet's headers, computed once: they are the same on every response, and computing them took 5 % of a request. Routes that only programs
 * with a key call return no pages, and do not need the headers that protect pages.
 */
export async function securityHeaders(config: Config): Promise<{ pages: Headers; data: Headers }> {
  // Responses contain keys and personal data. Cacheable files override this.
  const pages = { ...(await headersOf(config)), 'cache-control': 'no-store' }
  const forData = Object.entries(pages).filter(([name]) => FOR_DATA.has(name))
  return { pages, data: { ...Object.fromEntries(forData), 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" } }
}

const FOR_DATA = new Set(['cache-control', 'strict-transport-security', 'x-content-type-options', 'x-frame-options', 'referrer-policy'])

function headersOf({ publicUrl }: Config): Promise<Headers> {
  const https = publicUrl.startsWith('https://')
  const protect = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'"],
        // Radix positions its pop-ups with style elements.
        styleSrc: ["'self'", "'unsafe-inline'"],
        // Pictures of emails come from any host; those being uploaded are shown from memory.
        imgSrc: ["'self'", 'data:', 'blob:', 'https:'],
        connectSrc: ["'self'"],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    strictTransportSecurity: https,
    crossOriginResourcePolicy: { policy: 'same-origin' },
    referrerPolicy: { policy: 'no-referrer' },
    xFrameOptions: { action: 'deny' },
  })
  return new Promise((resolve, reject) => {
    const request = new IncomingMessage(new Socket())
    const response = new ServerResponse(request)
    protect(request, response, (err) => (err ? reject(err) : resolve(response.getHeaders() as Headers)))
  })
}
