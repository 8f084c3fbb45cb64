import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { Banner } from '../notice/banner.tsx'
import { explain, fieldIssues } from '../notice/explain.ts'
import { FieldErrors } from './field.tsx'

type Problems = { fields: Record<string, string>; general?: string }

const NONE: Problems = { fields: {} }

type FormProps = {
  /** Called with a reader for the form's values once the browser's validation passes. */
  onSubmit: (value: (name: string) => string) => void
  /** The error of the last submission. */
  error: Error | null
  children: ReactNode
}

/** Shows field errors beside their fields and other errors above the form, and focuses the first invalid field. */
export function Form({ onSubmit, error, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const [problems, setProblems] = useState(NONE)

  useEffect(() => setProblems(error ? assignProblems(form.current!, error) : NONE), [error])
  useEffect(() => {
    if (Object.keys(problems.fields).length > 0) form.current!.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [problems])

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const fields = browserErrors(event.currentTarget)
    setProblems({ fields })
    if (Object.keys(fields).length > 0) return
    const values = new FormData(event.currentTarget)
    onSubmit((name) => String(values.get(name) ?? ''))
  }

  /** Also from a field of several lines, where Enter alone begins a new one. */
  function submitByKeys(event: KeyboardEvent<HTMLFormElement>) {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return
    event.preventDefault()
    const submitButton = event.currentTarget.querySelector<HTMLButtonElement>('[type=submit]')
    if (!submitButton?.disabled && submitButton?.ariaDisabled !== 'true') event.currentTarget.requestSubmit()
  }

  return (
    // The browser still validates, but its messages appear beside the field like the server's, not in a bubble.
    <form ref={form} noValidate onSubmit={submit} onKeyDown={submitByKeys} className="space-y-4">
      {problems.general && <Banner tone="danger">{problems.general}</Banner>}
      <FieldErrors value={problems.fields}>{children}</FieldErrors>
    </form>
  )
}

function browserErrors(form: HTMLFormElement): Record<string, string> {
  const controls = [...form.querySelectorAll<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>('input, select, textarea')]
  return Object.fromEntries(
    controls.filter((control) => !control.validity.valid).map((control) => [control.name, control.validationMessage]),
  )
}

function assignProblems(form: HTMLFormElement, error: Error): Problems {
  const issues = fieldIssues(error)
  const placed = issues.filter((issue) => form.elements.namedItem(issue.field))
  const fields = Object.fromEntries(placed.map((issue) => [issue.field, issue.message]))
  return issues.length > 0 && placed.length === issues.length ? { fields } : { fields, general: explain(error) }
}
