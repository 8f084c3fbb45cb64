import { expect, test } from 'vitest'
import { restoreLiquid } from '../cli/liquid.ts'

test.each([
  ['{{ name ?? &quot;you&quot; }}', "{{ name ?? 'you' }}"],
  ['<a href="{{ url ?? &quot;https://x&quot; }}">', `<a href="{{ url ?? 'https://x' }}">`],
  ['{% if plan == &quot;pro&quot; and seats &gt; 3 %}', "{% if plan == 'pro' and seats > 3 %}"],
  ['{{ name ?? &#x27;it\\&#x27;s&#x27; }}', "{{ name ?? 'it\\'s' }}"],
  ['{{ name ?? &quot;it&#x27;s&quot; }}', "{{ name ?? 'it\\'s' }}"],
  ['Hi <!-- -->{{name}}<!-- -->!', 'Hi {{name}}!'],
  ['{{<!-- -->name<!-- -->}}', '{{name}}'],
  ['{{\u00a0name\u00a0}}', '{{ name }}'],
  ['a &amp; b &quot;c&quot;', 'a &amp; b &quot;c&quot;'],
])('%s becomes %s', (rendered, expected) => {
  expect(restoreLiquid(rendered)).toBe(expected)
})
