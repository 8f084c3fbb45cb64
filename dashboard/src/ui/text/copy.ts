import { toast } from '../dialog/toast.tsx'

/** Copies a text and shows the result as a toast. */
export async function copy(text: string, what: string) {
  const copied = await writeClipboard(text)
  toast(copied ? `${what} copied` : `${what} could not be copied. Select and copy it manually.`)
}

async function writeClipboard(text: string): Promise<boolean> {
  // Browsers offer the clipboard API only on HTTPS and localhost; a server in a home network often has neither.
  if (!navigator.clipboard) return copyBySelection(text)
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copyBySelection(text),
  )
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.setAttribute('aria-hidden', 'true')
  area.className = 'fixed opacity-0'
  const focused = document.activeElement
  document.body.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return copied
}
