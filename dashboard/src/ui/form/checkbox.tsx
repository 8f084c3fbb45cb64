import { type ComponentProps, useEffect, useRef } from 'react'

type CheckboxProps = Omit<ComponentProps<'input'>, 'type' | 'aria-label'> & { label: string; mixed?: boolean }

/** `mixed` marks a checkbox over a group of which only some are checked. */
export function Checkbox({ label, mixed = false, className = '', ...props }: CheckboxProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    input.current!.indeterminate = mixed
  }, [mixed])
  return <input ref={input} type="checkbox" aria-label={label} className={`size-4 shrink-0 accent-accent ${className}`} {...props} />
}

/** A checkbox with its label beside it, in a menu or a popover. */
export function CheckboxLine({ label, checked, onChange }: { label: string; checked: boolean; onChange: () => void }) {
  return (
    <label className="flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 hover:bg-sunken pointer-coarse:min-h-11">
      <input type="checkbox" checked={checked} onChange={onChange} className="size-4 shrink-0 accent-accent" />
      <span className="truncate">{label}</span>
    </label>
  )
}
