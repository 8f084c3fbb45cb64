import { z } from 'zod'

/** Piece by piece: one expression for all of it takes more stack than there is, for files of some megabytes. */
function isBase64(text: string) {
  const digits = text.replace(/={1,2}$/, '')
  const isPadded = digits.length < text.length
  return (isPadded ? text.length % 4 === 0 : text.length % 4 !== 1) && !/[^A-Za-z0-9+/]/.test(digits)
}

/** Base64 as other tools write it: in lines, with or without padding. Read without white space. */
const Base64 = z.string().check((given) => {
  const text = /\s/.test(given.value) ? given.value.replace(/\s+/g, '') : given.value
  if (isBase64(text)) given.value = text
  else given.issues.push({ code: 'custom', message: 'Must be base64.', params: { code: 'invalid_string' }, input: undefined })
})

const TYPE =
  /^([a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*)((?:[ \t]*;[ \t]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:[ !#-[\]-~]|\\[ -~])*"))*)[ \t]*$/i
const PARAMETER = /;[ \t]*([\w!#$%&'*+.^`|~-]+)=("(?:[ !#-[\]-~]|\\[ -~])*"|[\w!#$%&'*+.^`|~-]+)/g
/** Said by the file name. */
const OURS = /^name(\*.*)?$/i

/** `type/subtype` with its parameters, or undefined. A part made of parts must not be encoded, so it cannot be one attachment. */
export function readContentType(text: string): string | undefined {
  const [, type, parameters = ''] = TYPE.exec(text) ?? []
  if (type === undefined || /^multipart\//i.test(type)) return undefined
  const kept = [...parameters.matchAll(PARAMETER)].filter(([, name]) => !OURS.test(name!))
  return [type, ...kept.map(([, name, value]) => `${name}=${value}`)].join('; ')
}

const ContentType = z
  .string()
  .max(255, { abort: true })
  .check((given) => {
    const type = readContentType(given.value)
    if (type) given.value = type
    else
      given.issues.push({
        code: 'custom',
        message: 'Must be a MIME type of a single file.',
        params: { code: 'invalid_string' },
        input: undefined,
      })
  })

/** Slashes are fine, a way out of a folder is not. Nor marks that turn the direction of what follows: they make an .exe look like a .pdf. */
const FILENAME = /^[^\p{Cc}"\u2028-\u202e\u2066-\u2069]+$/u
const LEADS_UP = /(^|[\\/])\.\.([\\/]|$)/

export const AttachmentBody = z
  .object({
    filename: z
      .string()
      .min(1)
      .max(255)
      .refine((name) => FILENAME.test(name) && !LEADS_UP.test(name), {
        message: 'Must be a file name without quotes or line breaks.',
        params: { code: 'invalid_string' },
      }),
    content: Base64.describe('Base64, also in lines or without padding.'),
    contentType: ContentType.describe('A MIME type, perhaps with parameters: `text/csv; charset=utf-8`.'),
    contentId: z
      .string()
      .max(127)
      .regex(/^[A-Za-z0-9._@+-]+$/, 'Letters, digits and . _ @ + - only.')
      .optional(),
    disposition: z.enum(['attachment', 'inline']).default('attachment'),
  })
  .refine(({ disposition, contentId }) => disposition !== 'inline' || contentId !== undefined, {
    path: ['contentId'],
    message: 'Required for inline attachments.',
    params: { code: 'required' },
  })
  .meta({ anyOf: [{ required: ['contentId'] }, { properties: { disposition: { const: 'attachment' } } }] })

/** Of base64 as it was read. */
export const decodedSize = (base64: string) => Math.floor((base64.replace(/={1,2}$/, '').length * 3) / 4)
