import { createContext } from 'react'

/** Tells the editor that the text of a field is no value yet. It cannot be saved meanwhile. */
export const InvalidInputs = createContext<(id: string, isInvalid: boolean) => void>(() => {})
