import { type Editor, getMarkRange } from '@tiptap/core'
import { useState } from 'react'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { isLinkTarget } from '../document/block-attrs.ts'

/** `example.com` → `https://example.com`, `ada@example.com` → `mailto:…`; anything else as it is. */
function completeLink(typed: string): string {
  const text = typed.trim()
  if (isLinkTarget(text)) return text
  if (/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text)) return `mailto:${text}`
  return /^[\w-]+(?:\.[\w-]+)+/.test(text) ? `https://${text}` : text
}

/** A link for the selected text. Without one, the text is asked for too. */
export function LinkDialog({ editor, open, onClose }: { editor: Editor; open: boolean; onClose: () => void }) {
  return (
    <Dialog title="Link" description="Where the link goes." open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      {open && <LinkForm editor={editor} onClose={onClose} />}
    </Dialog>
  )
}

function LinkForm({ editor, onClose }: { editor: Editor; onClose: () => void }) {
  const href = String(editor.getAttributes('link').href ?? '')
  const needsText = editor.state.selection.empty && href === ''
  const [problem, setProblem] = useState<string>()
  function set(value: (name: string) => string) {
    const target = completeLink(value('href'))
    if (!isLinkTarget(target)) return setProblem('Must begin with https://, mailto:, tel: or a variable such as {{ url }}.')
    const mark = { type: 'link', attrs: { href: target } }
    const chain = editor.chain().focus()
    if (needsText) chain.insertContent({ type: 'text', text: value('text') || target, marks: [mark] }).run()
    else chain.extendMarkRange('link').setMark('link', { href: target }).run()
    onClose()
  }
  function remove() {
    const range = getMarkRange(editor.state.selection.$from, editor.schema.marks.link!)
    const chain = editor.chain().focus()
    ;(range ? chain.setTextSelection(range) : chain).unsetMark('link').run()
    onClose()
  }
  return (
    <Form error={null} onSubmit={set}>
      <Field name="href" label="Address" hint={problem ?? 'A web page, an email address, or a variable.'}>
        <Input
          defaultValue={href}
          required
          maxLength={2_000}
          placeholder="https://"
          autoComplete="off"
          aria-invalid={problem ? true : undefined}
        />
      </Field>
      {needsText && (
        <Field name="text" label="Text">
          <Input maxLength={1_000} autoComplete="off" />
        </Field>
      )}
      <DialogButtons>
        {href && <Button onClick={remove}>Remove the link</Button>}
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" variant="primary">
          Set the link
        </Button>
      </DialogButtons>
    </Form>
  )
}
