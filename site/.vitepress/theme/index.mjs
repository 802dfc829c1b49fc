// VitePress's own theme, without its font: no request for what a machine has.
import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';

export default { extends: DefaultTheme };
