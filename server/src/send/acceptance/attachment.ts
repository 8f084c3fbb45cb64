import { z } from 'zod'

/** A check that replaces a text by what `read` makes of it, or refuses it. */
const readBy =
  (read: (text: string) => string | undefined, message: string): z.core.CheckFn<string> =>
  (given) => {
    const text = read(given.value)
    if (text === undefined) given.issues.push({ code: 'custom', message, params: { code: 'invalid_string' }, input: undefined })
    else given.value = text
  }

/**
 * Base64 as other tools write it: in lines, with or without padding. White space is removed. Several small expressions: a single one overflows
 * the stack on files of several megabytes.
 */
function readBase64(given: string): string | undefined {
  const text = /\s/.test(given) ? given.replace(/\s+/g, '') : given
  const digits = text.replace(/={1,2}$/, '')
  const hasLength = digits.length < text.length ? text.length % 4 === 0 : text.length % 4 !== 1
  return hasLength && !/[^A-Za-z0-9+/]/.test(digits) ? text : undefined
}

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
    content: z.string().check(readBy(readBase64, 'Must be base64.')).describe('Base64; line breaks and missing padding are accepted.'),
    contentType: z
      .string()
      .max(255, { abort: true })
      .check(readBy(readContentType, 'Must be a MIME type of a single file.'))
      .describe('A MIME type, optionally with parameters: `text/csv; charset=utf-8`.'),
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
