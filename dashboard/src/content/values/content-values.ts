import type { Design } from '@sterna/sdk'

/** The content of an email in an editor. An empty text is a field that is not set. */
export type ContentValues = {
  subject: string
  previewText: string
  /** HTML. With a design, the HTML of its last save. */
  body: string
  /** Blocks instead of HTML. */
  design: Design | null
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  from: string
  fromName: string
}

export const TYPE_NAMES = { TRANSACTIONAL: 'Transactional', MARKETING: 'Marketing', HEADLESS: 'Marketing, own footer' } as const

export const TYPE_HINTS: Record<ContentValues['type'], string> = {
  TRANSACTIONAL: 'Sent to everyone, without a footer.',
  MARKETING: 'Only to subscribed contacts, with an unsubscribe link: your own, or in a footer.',
  HEADLESS: 'Only to subscribed contacts. No footer: write your own unsubscribe link.',
}

/** The content in a request: the design, or the HTML. */
export const contentOf = ({ design, body }: Pick<ContentValues, 'design' | 'body'>) => (design ? { design } : { body })

/** True while a tag is being typed: until it is closed, the server could only refuse the content. */
export function hasOpenTag(text: string): boolean {
  const rest = text.slice(Math.max(text.lastIndexOf('{{'), text.lastIndexOf('{%'), 0))
  return (rest.startsWith('{{') && !rest.includes('}}')) || (rest.startsWith('{%') && !rest.includes('%}'))
}

/**
 * The line separator that keeps every byte of the text: the editor writes it back between lines. A text that mixes separators is split
 * at `\n` only, so that its `\r` stay where they are.
 */
export function lineSeparatorOf(text: string): '\r\n' | '\n' {
  return /\r\n/.test(text) && !/(^|[^\r])\n/.test(text) ? '\r\n' : '\n'
}
