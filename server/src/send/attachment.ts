import { z } from 'zod'

/** Several small expressions: a single one overflows the stack on files of several megabytes. */
function isBase64(text: string) {
  const digits = text.replace(/={1,2}$/, '')
  const isPadded = digits.length < text.length
  return (isPadded ? text.length % 4 === 0 : text.length % 4 !== 1) && !/[^A-Za-z0-9+/]/.test(digits)
}

/** Base64 as other tools write it: in lines, with or without padding. White space is removed. */
const Base64 = z.string().check((given) => {
  const text = /\s/.test(given.value) ? given.value.replace(/\s+/g, '') : given.value
  if (isBase64(text)) given.value = text
  else given.issues.push({ code: 'custom', message: 'Must be base64.', params: { code: 'invalid_string' }, input: undefined })
})

const TYPE =
  /^([a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*)((?:[ \t]*;[ \t]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:[ !#-[\]-~]|\\[ -~])*"))*)[ \t]*$/i
const PARAMETER = /;[ \t]*([\w!#$%&'*+.^`|~-]+)=("(?:[ !#-[\]-~]|\\[ -~])*"|[\w!#$%&'*+.^`|~-]+)/g
/** Parameters that repeat the file name. */
const NAME_PARAMETER = /^name(\*.*)?$/i

/** Returns `type/subtype` with its parameters, or undefined. Refuses multipart types: they must not be base64-encoded. */
export function readContentType(text: string): string | undefined {
  const [, type, parameters = ''] = TYPE.exec(text) ?? []
  if (type === undefined || /^multipart\//i.test(type)) return undefined
  const kept = [...parameters.matchAll(PARAMETER)].filter(([, name]) => !NAME_PARAMETER.test(name!))
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

/** No quotes, no control characters, no bidirectional marks: those can make an .exe look like a .pdf. Slashes are allowed, `..` is not. */
const FILENAME = /^[^\p{Cc}"\u2028-\u202e\u2066-\u2069]+$/u
const PARENT_FOLDER = /(^|[\\/])\.\.([\\/]|$)/

export const AttachmentBody = z
  .object({
    filename: z
      .string()
      .min(1)
      .max(255)
      .refine((name) => FILENAME.test(name) && !PARENT_FOLDER.test(name), {
        message: 'Must be a file name without quotes or line breaks.',
        params: { code: 'invalid_string' },
      }),
    content: Base64.describe('Base64; line breaks and missing padding are accepted.'),
    contentType: ContentType.describe('A MIME type, optionally with parameters: `text/csv; charset=utf-8`.'),
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

/** For base64 without white space. */
export const decodedSize = (base64: string) => Math.floor((base64.replace(/={1,2}$/, '').length * 3) / 4)
