import { compileFastPath } from '../../src/templates/fast/fast-path.ts'
import { compile } from '../../src/templates/language/compile.ts'
import { prepare } from '../../src/templates/language/prepare.ts'
import { type Recipient, scopeOf } from '../../src/templates/language/variables.ts'
import { renderEmail } from '../../src/templates/rendering/render.ts'

const DATA = {
  name: 'Ada',
  'first name': 'Ada',
  html: '<b>"Tom" & \'Jerry\'</b>',
  profile: { tier: 'gold', 'home town': 'London', tags: ['x', 'y'] },
  items: ['a', 'b', 'c'],
  orders: [
    { id: 1, total: 5 },
    { id: 2, total: 7 },
  ],
  age: 36,
  zero: 0,
  no: false,
  yes: true,
  hollow: '',
  nothing: null,
  none: [],
  plan: 'pro',
  lines: 'one\r\ntwo',
  link: 'https://example.com/?a=1&b=2',
  script: 'javascript:alert(1)',
  liquid: '{{ email }}{% for i in (1..9) %}x{% endfor %}',
  id: 'custom id',
  email: 'custom@example.com',
  unsubscribeUrl: 'https://evil.example',
  subscribed: 'custom',
  locale: 'de',
}

export const recipient = (data: Record<string, unknown> = DATA): Recipient => ({
  id: 'contact-1',
  email: 'ada@example.com',
  subscribed: true,
  createdAt: '2026-01-02T03:04:05.000Z',
  unsubscribeUrl: 'https://mail.example/u',
  subscribeUrl: 'https://mail.example/s',
  manageUrl: 'https://mail.example/m',
  data,
})

export const render = async (body: string, data?: Record<string, unknown>) => {
  const rendered = await renderEmail({ subject: 'Hi', body }, recipient(data))
  return rendered.ok ? rendered.html : `failed: ${rendered.reason}`
}
export const renderSubject = async (subject: string, data?: Record<string, unknown>) => {
  const rendered = await renderEmail({ subject, body: 'Hi' }, recipient(data))
  return rendered.ok ? rendered.subject : `failed: ${rendered.reason}`
}
/** Renders with the engine alone, on this thread. */
export const renderByEngine = (body: string, data?: Record<string, unknown>) => compile(body, { html: true })(scopeOf(recipient(data)))
export const isSimple = (body: string) => compileFastPath(prepare(body, { html: true }), { html: true }) !== undefined
