import { ChevronDown, Eye, EyeOff } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { useFieldProps } from './field.tsx'

// 16 px on phones: with less, iOS zooms into the page when the field gets focus.
const CONTROL =
  'h-11 w-full rounded-md border border-edge bg-surface px-3 text-base text-ink placeholder:text-muted focus-visible:outline-offset-0 aria-invalid:border-danger disabled:opacity-60 sm:h-9 sm:text-ui'

export function Input({ className = '', ...props }: ComponentProps<'input'>) {
  return <input className={`${CONTROL} ${className}`} {...useFieldProps()} {...props} />
}

export function PasswordInput(props: ComponentProps<'input'>) {
  const [shown, setShown] = useState(false)
  return (
    <div className="relative">
      <Input type={shown ? 'text' : 'password'} className="pr-11" {...props} />
      <button
        type="button"
        aria-label={shown ? 'Hide password' : 'Show password'}
        onClick={() => setShown(!shown)}
        className="absolute inset-y-0 right-0 flex w-11 items-center justify-center rounded-md text-muted hover:text-ink"
      >
        {shown ? <EyeOff className="size-4" /> : <Eye className="size-4" />}
      </button>
    </div>
  )
}

export function TextArea({ className = '', ...props }: ComponentProps<'textarea'>) {
  return <textarea className={`${CONTROL} h-auto py-2 sm:h-auto ${className}`} {...useFieldProps()} {...props} />
}

type SelectProps = Omit<ComponentProps<'select'>, 'children'> & {
  options: Record<string, string>
  /** Further options, below headings. */
  groups?: Record<string, Record<string, string>>
}

/** `options` maps values to labels. */
export function Select({ options, groups = {}, ...props }: SelectProps) {
  return (
    <div className="relative">
      <select className={`${CONTROL} appearance-none pr-9`} {...useFieldProps()} {...props}>
        <Options options={options} />
        {Object.entries(groups).map(([heading, group]) => (
          <optgroup key={heading} label={heading}>
            <Options options={group} />
          </optgroup>
        ))}
      </select>
      <ChevronDown className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-muted" aria-hidden="true" />
    </div>
  )
}

const Options = ({ options }: { options: Record<string, string> }) =>
  Object.entries(options).map(([value, label]) => (
    <option key={value} value={value}>
      {label}
    </option>
  ))
