import { createContext, type ReactNode, useContext, useId } from 'react'

type FieldState = { id: string; name: string; describedBy: string | undefined; invalid: boolean }

const FieldContext = createContext<FieldState | null>(null)

/** Messages by field name, provided by the form around the fields. */
export const FieldErrors = createContext<Record<string, string>>({})

/** The props that label, describe and mark the control inside a field. */
export function useFieldProps() {
  const field = useContext(FieldContext)
  if (!field) return {}
  return { id: field.id, name: field.name, 'aria-describedby': field.describedBy, 'aria-invalid': field.invalid || undefined }
}

type FieldProps = { name: string; label: ReactNode; hint?: ReactNode; aside?: ReactNode; children: ReactNode }

export function Field({ name, label, hint, aside, children }: FieldProps) {
  const id = useId()
  const error = useContext(FieldErrors)[name]
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined
  return (
    <div className="space-y-1">
      <div className="flex items-baseline justify-between gap-4">
        <label htmlFor={id} className="font-medium text-ui">
          {label}
        </label>
        {aside}
      </div>
      <FieldContext value={{ id, name, describedBy, invalid: Boolean(error) }}>{children}</FieldContext>
      {hint && (
        <p id={`${id}-hint`} className="text-muted text-ui">
          {hint}
        </p>
      )}
      <p id={`${id}-error`} aria-live="polite" className="text-danger text-ui empty:hidden">
        {error}
      </p>
    </div>
  )
}
