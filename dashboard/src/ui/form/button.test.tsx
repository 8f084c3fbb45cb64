import { expect, test, vi } from 'vitest'
import { Button } from './button.tsx'

test('a busy button can keep the focus: it is not disabled, but ignores clicks and does not submit its form again', () => {
  const onClick = vi.fn()
  const preventDefault = vi.fn()
  const { props } = Button({ busy: true, type: 'submit', onClick, children: 'Save' })
  props.onClick({ preventDefault })
  expect([props.disabled, props['aria-disabled'], onClick.mock.calls.length, preventDefault.mock.calls.length]).toEqual([
    undefined,
    true,
    0,
    1,
  ])
  expect(Button({ onClick, children: 'Save' }).props.onClick).toBe(onClick)
})
